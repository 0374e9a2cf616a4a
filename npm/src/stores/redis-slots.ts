// Where Redis Cluster puts a key: one of 16,384 slots, by the CRC-16 of the key's hash tag.

/** How many slots a cluster has. */
const SLOTS = 16_384;

/** CRC-16/XMODEM of a text's bytes, as Redis computes it: 0 to 65,535. @internal */
export function crc16(text: string): number {
  let crc = 0;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
}

/** The slot of a key: 0 to 16,383. Only the text between the first `{` and the next `}` counts, if there is any. @internal */
export function slotOf(key: string): number {
  const tag = /^[^{]*\{([^}]+)\}/.exec(key)?.[1];
  return crc16(tag ?? key) % SLOTS;
}
