// The accessibility rules, looked at in one way by every test that does.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Gathers what breaks the rules on a page, look by look: `look(where)` looks, `check()` says what was found. */
export function rules(page) {
  const found = [];
  return {
    /** Looks at the whole page, or at what fits `selector`, once whatever fades in is there in full. */
    async look(where, selector) {
      await page.evaluate(source);
      await page.evaluate(async () => {
        const ending = document.getAnimations().filter((it) => it.effect.getComputedTiming().endTime !== Number.POSITIVE_INFINITY);
        await Promise.allSettled(ending.map((it) => it.finished));
      });
      const { violations } = await page.evaluate(
        (selector) => window.axe.run(selector === undefined ? document : document.querySelector(selector), { resultTypes: ["violations"] }),
        selector,
      );
      for (const { id, help, nodes } of violations)
        found.push(
          `${where}: ${id} (${help}): ${nodes
            .map(({ html }) => html.slice(0, 160))
            .slice(0, 3)
            .join(" ")}`,
        );
    },
    check() {
      assert.deepEqual(found, []);
    },
  };
}
