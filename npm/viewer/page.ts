// What the page asks of `npm/src/share`: lines in, a page out.

import { pageOf } from "../src/share/html.js";

export async function html({ lines }: { lines: string }): Promise<string> {
  return pageOf([lines]).join("");
}
