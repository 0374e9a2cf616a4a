// The browser's own summariser (Chrome's built-in Summarizer API), for the dialog before a compaction. It is asked on the page, since
// workers have none; nothing leaves the machine. Loaded when that dialog first looks whether there is one.

const CORE = { type: "key-points", format: "plain-text", length: "long" };
const ABOUT = "A conversation. Keep what was decided, what is preferred or forbidden, names, numbers, and what is still open.";
/** A text that is no longer is not cut any more. */
const SHORTEST = 200;

/** `available`, `downloadable` or `downloading`; an empty text where the browser has none. */
export async function availability() {
  try {
    const found = await self.Summarizer?.availability(CORE);
    return found && found !== "unavailable" ? found : "";
  } catch {
    return "";
  }
}

/** Makes one. `tell` hears how much of it is loaded, in percent, where it must be loaded first. */
export async function open(tell) {
  const monitor = (model) => model.addEventListener("downloadprogress", ({ loaded }) => tell(Math.round(loaded * 100)));
  const model = await self.Summarizer.create({ ...CORE, sharedContext: ABOUT, monitor });
  return {
    // Its tokens are not ours: what does not fit is cut again when it is measured.
    tokens: Number.isFinite(model.inputQuota) ? Math.max(1000, Math.floor(model.inputQuota * 0.8)) : 24_000,
    summarize: async (text) => {
      const points = [];
      // The numbers before messages are for models that answer with them.
      for (const piece of await cut(model, text.replace(/^\[c?\d+\] /gm, "")))
        for (const line of (await model.summarize(piece)).split("\n")) {
          const point = line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "").trim();
          if (point !== "") points.push(point);
        }
      return JSON.stringify({ episodic_summary: points.slice(0, 3).join(" "), statements: points });
    },
    destroy: () => model.destroy?.(),
  };
}

/** The text in pieces that the model takes, cut at lines where that can be. */
async function cut(model, text) {
  if (text.length <= SHORTEST || (await model.measureInputUsage(text)) <= model.inputQuota) return [text];
  const half = text.length >> 1;
  let at = text.lastIndexOf("\n", half) + 1 || text.lastIndexOf(" ", half) + 1 || half;
  // Not between the halves of one character.
  if (/[\uDC00-\uDFFF]/.test(text.charAt(at))) at += 1;
  return [...(await cut(model, text.slice(0, at))), ...(await cut(model, text.slice(at)))];
}
