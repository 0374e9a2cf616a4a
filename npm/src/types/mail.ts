// The mailbox: what is sent, and what stands in it.

/** What a message says, when it is sent: one text, or several with names for things between them. */
export type MailText =
  | {
      /** The text. */
      content: string;
    }
  | {
      /** The texts; between each two of them stands the name of something that goes along. */
      strings: readonly string[];
      /** What the texts call these things: one name between each two texts. */
      edgeNames?: readonly string[];
      /** What the sender calls them, as many as `edgeNames`. */
      petNames?: readonly string[];
    };

/** A message to be sent. */
export type OutgoingMail = MailText & {
  /** To whom: the name of a user or an agent, at most 512 bytes. */
  to: string;
  /** The `messageId` of the message that it answers. */
  replyTo?: string;
  /** Its id, at most 512 bytes; one is minted without it. A message that was sent before is not sent again. */
  messageId?: string;
};

/** A message in a mailbox. */
export interface Mail {
  /** Its number in this mailbox, from 1; never given twice, also after messages, or all, were deleted. */
  number: number;
  /** Its id, the same in both mailboxes. */
  messageId: string;
  /** The message that it answers. */
  replyTo?: string;
  /** Who sent it. */
  from: string;
  /** To whom. */
  to: string;
  /** What it says; {@link mailText} joins it. */
  strings: string[];
  /** What the texts call what stands between them. */
  edgeNames: string[];
  /** What the sender calls that. */
  petNames: string[];
  /** When it was sent, in milliseconds since 1970 (UTC). */
  date: number;
  /** When it was dismissed, in milliseconds since 1970 (UTC). */
  dismissed?: number;
  /** The node in whose turn an agent sent it. */
  node?: string;
  /** Whether it says that no answer came about. */
  isError?: boolean;
  /** Set where `replyTo` names a message that nobody knew when it was sent: neither one of the two mailboxes, nor a node. */
  unknownReply?: true;
}

/** Which messages of a mailbox are listed, oldest first. What is left out does not limit. */
export interface MailFilter {
  /** Only numbers above this one. */
  after?: number;
  /** The newest so many; 0 gives none. */
  limit?: number;
  /** Whether dismissed ones come too. */
  dismissed?: boolean;
}

/** How a mailbox is followed. */
export interface FollowOptions {
  /** Begins after this number; with the first message without it. */
  after?: number;
  /** Ends it. */
  signal?: AbortSignal;
  /**
   * Looks every so many milliseconds for messages of which nobody told, from 1 on. It is only needed for a store of your own
   * that others write to; without it nothing is looked for.
   */
  poll?: number;
}
