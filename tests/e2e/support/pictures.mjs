// Pictures of the page that are kept, and compared with what it looks like now. The comparison is tolerant: both are made small and grey, so that
// the edges of letters do not count, and a few cells may differ.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import sharp from "sharp";

const kept = fileURLToPath(new URL("../pictures/", import.meta.url));
const target = fileURLToPath(new URL("../../../target/pictures/", import.meta.url));

/** Whether pictures are written anew, as after a change that was looked at. */
const writing = process.env.THREADKEEP_PICTURES === "write";

/** How many pixels of a picture are one cell in each direction. */
const CELL = 4;
/** A cell differs if its grey does by more than this, of 255. */
const GREY = 24;
/** So large a share of the cells may differ. */
const SHARE = 0.004;

async function cells(picture, { width, height }) {
  const small = sharp(picture)
    .greyscale()
    .resize(Math.ceil(width / CELL), Math.ceil(height / CELL), { fit: "fill", kernel: "mitchell" });
  return small.raw().toBuffer();
}

/** Holds a screenshot against the picture of this name: nothing, or words about what differs. */
export async function compared(name, screenshot) {
  const file = `${kept}${name}.png`;
  if (writing) {
    mkdirSync(kept, { recursive: true });
    await sharp(screenshot).png({ palette: true, colours: 64, effort: 10 }).toFile(file);
    return undefined;
  }
  if (!existsSync(file)) return `${name}: there is no such picture`;
  const [is, was] = await Promise.all([sharp(screenshot).metadata(), sharp(file).metadata()]);
  if (is.width !== was.width || is.height !== was.height) return `${name}: it was ${was.width} × ${was.height}, and is ${is.width} × ${is.height}`;
  const [now, before] = await Promise.all([cells(screenshot, is), cells(file, was)]);
  const different = now.reduce((sum, grey, at) => sum + (Math.abs(grey - before[at]) > GREY ? 1 : 0), 0);
  if (different <= now.length * SHARE) return undefined;
  mkdirSync(target, { recursive: true });
  writeFileSync(`${target}${name}.png`, screenshot);
  return `${name}: ${((100 * different) / now.length).toFixed(1)} % of it differs; see target/pictures/${name}.png`;
}
