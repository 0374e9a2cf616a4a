// Names as parts of keys.

import { digest } from "../../digest.js";
import { recordKey } from "../../record-keys.js";

/** So long a part of a key may be; longer ones are told apart by a hash. */
const LONGEST = 150;

/** A part of a key for a name of any length and letters: itself, or its beginning and a digest. */
export async function keyPart(part: string): Promise<string> {
  const escaped = recordKey(part);
  return escaped.length <= LONGEST ? part : `${escaped.slice(0, 80)} ${await digest(part)}`;
}
