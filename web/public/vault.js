// Keys that the reader asks to keep: encrypted with a passphrase before they touch the disk. Loaded when a key is first kept or
// unlocked. The passphrase is stretched with PBKDF2-SHA-256, the key sealed with AES-GCM, which also tells a wrong passphrase.

const ROUNDS = 600_000;
/** More rounds than anybody would choose: a damaged record must not keep the page busy for minutes. */
const MOST = 10_000_000;

/** The secret as text that may lie on the disk. `whose` is bound to it: it opens under the same name only. */
export async function seal({ secret, passphrase, whose }) {
  const [salt, nonce] = [16, 12].map((length) => crypto.getRandomValues(new Uint8Array(length)));
  const key = await stretch(passphrase, salt, ROUNDS, "encrypt");
  const data = await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce, additionalData: bytes(whose) }, key, bytes(secret));
  return JSON.stringify({ kdf: "PBKDF2-SHA-256", rounds: ROUNDS, salt: text(salt), cipher: "AES-GCM", nonce: text(nonce), data: text(new Uint8Array(data)) });
}

/** The secret again; an empty text where the passphrase is another one, or the record is damaged. */
export async function open({ sealed, passphrase, whose }) {
  try {
    const { rounds, salt, nonce, data } = JSON.parse(sealed);
    if (!(rounds >= ROUNDS && rounds <= MOST)) return "";
    const key = await stretch(passphrase, raw(salt), rounds, "decrypt");
    const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv: raw(nonce), additionalData: bytes(whose) }, key, raw(data));
    return new TextDecoder().decode(opened);
  } catch {
    return "";
  }
}

async function stretch(passphrase, salt, iterations, use) {
  const from = await crypto.subtle.importKey("raw", bytes(passphrase.normalize("NFC")), "PBKDF2", false, ["deriveKey"]);
  return crypto.subtle.deriveKey({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, from, { name: "AES-GCM", length: 256 }, false, [use]);
}

const bytes = (words) => new TextEncoder().encode(words);
const text = (data) => btoa(String.fromCharCode(...data));
const raw = (words) => Uint8Array.from(atob(words), (letter) => letter.charCodeAt(0));
