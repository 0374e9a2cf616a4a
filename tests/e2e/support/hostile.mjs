// Files that mean harm, are broken, or are something else altogether. Each says which code the report must give for it;
// none may cost a message that was stored before.
import { crc32, deflateRawSync, deflateSync, constants } from "node:zlib";
import { oneFile, small, toZip, Tree } from "./chatgpt.mjs";

const bytes = (text) => Buffer.from(text, "utf8");

/** A sound conversation, to be spoilt. */
function sound(id = "bad00000-0000-4000-8000-000000000000", title = "Spoilt") {
  const tree = new Tree(id, title);
  const ask = tree.say(tree.start, "user", "Is this sound?");
  const leaf = tree.say(ask, "assistant", "It was.");
  return { tree, ask, leaf };
}

function nested(levels) {
  return `${"[".repeat(levels)}${"]".repeat(levels)}`;
}

function cycle() {
  const { tree, ask, leaf } = sound("bad00000-0001-4000-8000-000000000000", "In a circle");
  tree.json.mapping[ask].parent = leaf;
  tree.json.mapping[leaf].children = [ask];
  return oneFile([tree.json]);
}

function own() {
  const { tree, ask } = sound("bad00000-0002-4000-8000-000000000000", "Its own parent");
  tree.json.mapping[ask].parent = ask;
  return oneFile([tree.json]);
}

/** One conversation twice, of which the second goes on. */
function twice() {
  const [one, two] = ["First", "Second"].map((title) => sound("bad00000-0003-4000-8000-000000000000", title));
  two.tree.say(two.leaf, "user", "And again?");
  return oneFile([one.tree.json, two.tree.json]);
}

function sameKey() {
  const { tree, leaf } = sound("bad00000-0004-4000-8000-000000000000", "One key twice");
  const node = JSON.stringify(tree.json.mapping[leaf]);
  return oneFile([tree.json]).replace(`"${leaf}":${node}`, `"${leaf}":${node},"${leaf}":${node.replace("It was.", "It was not.")}`);
}

function surrogates() {
  const { tree, leaf } = sound("bad00000-0005-4000-8000-000000000000", "Half a pair");
  tree.say(leaf, "user", "SURROGATE");
  return oneFile([tree.json]).replace("SURROGATE", "before \\ud83d between \\ude00 after");
}

function invalidUtf8() {
  const { tree, leaf } = sound("bad00000-0006-4000-8000-000000000000", "Bytes of another kind");
  tree.say(leaf, "user", "HERE");
  const text = bytes(oneFile([tree.json]));
  const at = text.indexOf("HERE");
  text.set([0xff, 0xc0, 0x80, 0xfe], at);
  return text;
}

function deepInside() {
  const { tree } = sound("bad00000-0007-4000-8000-000000000000", "Deep inside");
  return oneFile([tree.json]).replace(`"metadata":{}`, `"metadata":{"deep":${nested(10_000)}}`);
}

/** Numbers, dates and ids that no clock and no program gives. */
function odd() {
  const { tree, ask } = sound("bad00000-0008-4000-8000-000000000000", "Odd values");
  tree.json.mapping[ask].message.create_time = 1e308;
  tree.json.mapping[ask].message.weight = -0.5;
  // biome-ignore lint/suspicious/noProto: a hostile file sets it
  tree.json.mapping["__proto__"] = { id: "__proto__", message: null, parent: "constructor", children: ["toString"] };
  return oneFile([{ ...tree.json, create_time: -1e300, update_time: "yesterday" }]);
}

function longId() {
  const { tree } = sound("x".repeat(100_000), "A long id");
  return oneFile([tree.json]);
}

/** A zip of one member that grows to `megabytes` of one letter inside a JSON string. Made of one compressed block again and again. */
function bomb(megabytes) {
  const block = Buffer.alloc(1 << 20, "a");
  const flush = (data) => deflateRawSync(data, { level: 9, finishFlush: constants.Z_FULL_FLUSH });
  const start = bytes(`[{"title":"`);
  const packed = flush(block);
  const inner = Buffer.concat([flush(start), ...Array(megabytes).fill(packed), deflateRawSync(bytes(`"}]`))]);
  let sum = crc32(start);
  for (let at = 0; at < megabytes; at += 1) sum = crc32(block, sum);
  sum = crc32(bytes(`"}]`), sum);
  return zipOf("conversations.json", inner, sum, start.length + megabytes * block.length + 3);
}

/** A zip by hand: one member of the given compressed bytes, checksum and claimed size. */
function zipOf(name, packed, sum, size, { method = 8, flags = 0 } = {}) {
  const file = bytes(name);
  const shared = Buffer.alloc(26);
  shared.writeUInt16LE(20, 0);
  shared.writeUInt16LE(flags, 2);
  shared.writeUInt16LE(method, 4);
  shared.writeUInt32LE(sum, 10);
  shared.writeUInt32LE(packed.length, 14);
  shared.writeUInt32LE(size, 18);
  shared.writeUInt16LE(file.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), shared, file, packed]);
  const rest = Buffer.alloc(14);
  const central = Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), shared, rest, file]);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

function encrypted() {
  const text = bytes("[]");
  return zipOf("conversations.json", Buffer.concat([Buffer.alloc(12, 7), text]), crc32(text), text.length, { method: 0, flags: 1 });
}

function wrongSum() {
  const text = bytes(oneFile([sound("bad00000-0009-4000-8000-000000000000", "A bit flipped").tree.json]));
  return zipOf("conversations.json", deflateRawSync(text), crc32(text) ^ 1, text.length);
}

function cutZip() {
  const whole = toZip({ "conversations.json": oneFile(small()) });
  return whole.subarray(0, Math.floor(whole.length * 0.6));
}

/** Pixels of the smallest kind. */
function png() {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.from([0, 128]))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/**
 * The cases: `name`, the `file` with its `data`, the `codes` of which one must be in the report (null where nothing is to be
 * said), and how many conversations come in all the same (at `least` and at `most`, 0 without them) or gain something
 * (`updated`).
 */
export const CASES = [
  { name: "a number for an archive", file: "conversations.json", data: "42", codes: ["unknown-format", "bad-shape", "not-a-conversation"] },
  {
    name: "fields of the wrong type",
    file: "conversations.json",
    data: `[{"title":{},"mapping":"none","current_node":7}, null, 3, {"mapping":[1]}]`,
    codes: ["bad-shape"],
  },
  { name: "10,000 levels of nesting", file: "conversations.json", data: nested(10_000), codes: ["too-deep", "unknown-format", "bad-shape"] },
  { name: "10,000 levels inside a conversation", file: "conversations.json", data: deepInside(), codes: ["too-deep"], most: 1 },
  { name: "a cycle in mapping", file: "conversations.json", data: cycle(), codes: ["cycle"], most: 1 },
  { name: "a node that is its own parent", file: "conversations.json", data: own(), codes: ["cycle"], most: 1 },
  { name: "one conversation id for two conversations", file: "conversations.json", data: twice(), codes: null, least: 1, most: 1, updated: 1 },
  { name: "one node id twice", file: "conversations.json", data: sameKey(), codes: ["duplicate-id"], most: 1 },
  { name: "lone surrogates", file: "conversations.json", data: surrogates(), codes: ["bad-text"], least: 1, most: 1 },
  { name: "bytes that are not UTF-8", file: "conversations.json", data: invalidUtf8(), codes: ["bad-text"], most: 1 },
  { name: "odd times, weights and ids", file: "conversations.json", data: odd(), codes: null, most: 1 },
  { name: "an id of 100,000 characters", file: "conversations.json", data: longId(), codes: null, most: 1 },
  {
    name: "a truncated file",
    file: "conversations.json",
    data: oneFile([sound("bad00000-000a-4000-8000-000000000000", "Whole").tree.json, sound().tree.json]).slice(0, -300),
    codes: ["truncated"],
    most: 1,
  },
  { name: "an empty file", file: "conversations.json", data: "", codes: ["empty"] },
  { name: "a zip bomb", file: "export.zip", data: bomb(2048), codes: ["zip-bomb", "too-large"] },
  { name: "a truncated zip", file: "export.zip", data: cutZip(), codes: ["bad-zip", "truncated"], most: 4 },
  { name: "an encrypted zip", file: "export.zip", data: encrypted(), codes: ["encrypted"] },
  { name: "a zip with a wrong checksum", file: "export.zip", data: wrongSum(), codes: ["checksum"], most: 1 },
  { name: "a picture", file: "holiday.png", data: png(), codes: ["unknown-format", "not-a-conversation"] },
  {
    name: "a web page",
    file: "page.html",
    data: `<!doctype html><title>x</title><script>window.hacked = true</script>`,
    codes: ["unknown-format", "not-a-conversation"],
  },
  {
    name: "another program's JSON",
    file: "package.json",
    data: `{"name":"left-pad","version":"1.3.0","dependencies":{}}`,
    codes: ["unknown-format", "not-a-conversation"],
  },
].map((one) => ({ least: 0, most: 0, updated: 0, ...one, data: typeof one.data === "string" ? bytes(one.data) : Buffer.from(one.data) }));
