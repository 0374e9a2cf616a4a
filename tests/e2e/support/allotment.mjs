// A long conversation with things worth to be kept (preferences, decisions, constraints), and its compaction on the page.
import { oneFile, small, Tree } from "./chatgpt.mjs";

export const TURNS = 16;
export const TITLE = "Planning the allotment";

const CROPS = ["beans", "leeks", "chard", "garlic", "beetroot", "fennel", "sorrel", "kale"];

/** The number in a text such as `1,204 tokens`. */
export const number = (text) => Number(text.replace(/\D/g, ""));

/** The question of a turn. */
export function question(at) {
  return `Question ${at}: I prefer ${CROPS[at % CROPS.length]} in bed ${at}. We must never water bed ${at} after noon. What about its soil?`;
}

/** The conversation as an export; with more turns, a longer version of the same. */
export function allotment(turns = TURNS) {
  const tree = new Tree("beef0000-0003-4000-8000-000000000003", TITLE);
  let leaf = tree.start;
  for (let at = 0; at < turns; at += 1) {
    leaf = tree.say(leaf, "user", question(at));
    leaf = tree.say(
      leaf,
      "assistant",
      `We decided to plant ${CROPS[at % CROPS.length]} in bed ${at}. ${"Loam holds water well, and compost keeps it loose through the summer. ".repeat(6)}`,
    );
  }
  return { name: "conversations.json", data: oneFile([tree.json, small()[1]]) };
}

/** A tab with the long conversation open. */
export async function opened(tab, turns) {
  await tab.pick(allotment(turns));
  await tab.closeReport();
  await tab.openThread(TITLE);
}

/** Compacts the open branch; gives the figures that the preview promised. The conversation is imported, and is remembered all the same. */
export async function compact(tab) {
  // In a narrow window the act is in a menu.
  if (await tab.get("more").isVisible()) await tab.get("more").click();
  await tab.get("compact").click();
  await tab.get("compact-everybody").check();
  await tab.get("compact-preview").waitFor();
  const promised = {
    before: number(await tab.get("compact-before").innerText()),
    after: number(await tab.get("compact-after").innerText()),
    statements: await tab.get("compact-statements").locator("li").allInnerTexts(),
  };
  await tab.get("compact-confirm").click();
  await tab.get("dialog").waitFor({ state: "detached" });
  // Where the thread has several cards, far ones are not built.
  await tab.page.waitForFunction((statements) => {
    const said = (card) => [...card.querySelectorAll("[data-testid=statement]")].map((one) => one.innerText);
    return [...document.querySelectorAll("[data-testid=compaction]")].some((card) => JSON.stringify(said(card)) === JSON.stringify(statements));
  }, promised.statements);
  return promised;
}

/** Imports a longer version of the conversation, and opens it where it ends now. */
export async function grown(tab, turns) {
  await tab.pick(allotment(turns));
  await tab.closeReport();
  await tab.open();
  await tab.openThread(TITLE);
  await tab.get("messages").focus();
  await tab.page.keyboard.press("End");
  await tab.message(`Question ${turns - 1}:`).waitFor();
}
