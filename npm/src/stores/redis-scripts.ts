// What runs inside Redis. A script is one step for everybody else: that is what makes commits atomic and scans whole.
//
// A keep is four keys with one hash tag, so that a cluster has them in one place. Those of a scope are `{prefix/scope}@keys` and so on, so
// that each scope has a place of its own.
//   {prefix}:keys     a sorted set of all keys, all with score 0, which orders them byte by byte
//   {prefix}:values   a hash from key to value
//   {prefix}:commits  a sorted set of the tokens of the last commits, by the time at which they came
//   {prefix}:about    a hash: the layout's version, how many commits there were, how many records there are
//
// Redis does not undo what a failing script has done, so each script looks at everything that may fail before it writes.
// It refuses the first write of a script when memory or disk is short, and lets those after it pass.

/** The version of the layout; data of a newer one is refused. */
export const VERSION = 1;

/** For how many seconds the token of a commit is remembered: longer than anybody tries again. */
const TOKEN_SECONDS = 900;

/** A scan answers with keys alone if its first eight values have more bytes. */
const LARGE = 32 << 10;

/** What all scripts begin with. Redis may have been told to throw away what it likes: then the keys, the values and their number differ. */
const CHECK = `
local about = redis.call("HMGET", KEYS[4], "version", "records")
local version, records = tonumber(about[1] or "${VERSION}"), tonumber(about[2] or "0")
if version > ${VERSION} then return {"newer-version", version} end
if redis.call("ZCARD", KEYS[1]) ~= records or redis.call("HLEN", KEYS[2]) ~= records then return {"torn"} end
`;

/** The value under the key ARGV[1]. A script, so that of a keep of which something is missing no record seems not to be. */
export const GET = `${CHECK}
return {"done", redis.call("HGET", KEYS[2], ARGV[1])}
`;

/**
 * A commit. ARGV: token, milliseconds until the keep expires (0: never), then the numbers of what follows: keys that must
 * be absent, keys that must be present, keys to delete, ranges (two each), puts (two each), then "1" if the keep may begin with this commit.
 * If it may not, and has not begun, nothing happens and the answer is "new".
 */
export const COMMIT = `${CHECK}
if ARGV[8] == "0" and not about[1] then return {"new"} end
local at = 8
local function take(count)
  local first = at + 1
  at = at + count
  return first, at
end
local time = redis.call("TIME")
local now = tonumber(time[1])
local done = redis.call("ZSCORE", KEYS[3], ARGV[1])
-- A removal comes first where a full memory must not be in the way.
local function prune() redis.call("ZREMRANGEBYSCORE", KEYS[3], "-inf", now - ${TOKEN_SECONDS}) end
if done then
  -- Something is written, so that waiting for the disk on this connection waits for the commit too.
  prune()
  redis.call("HINCRBY", KEYS[4], "retries", 1)
  return {"done"}
end
local first, last = take(tonumber(ARGV[3]))
for i = first, last do
  if redis.call("HEXISTS", KEYS[2], ARGV[i]) == 1 then return {"conflict", ARGV[i]} end
end
first, last = take(tonumber(ARGV[4]))
for i = first, last do
  if redis.call("HEXISTS", KEYS[2], ARGV[i]) == 0 then return {"conflict", ARGV[i]} end
end
if ARGV[7] == "0" then prune() end
redis.call("ZADD", KEYS[3], now, ARGV[1])
prune()
local function remove(keys)
  for i = 1, #keys, 1000 do
    local last = math.min(i + 999, #keys)
    redis.call("HDEL", KEYS[2], unpack(keys, i, last))
    redis.call("ZREM", KEYS[1], unpack(keys, i, last))
  end
end
first, last = take(tonumber(ARGV[5]))
for i = first, last, 1000 do remove({unpack(ARGV, i, math.min(i + 999, last))}) end
first, last = take(2 * tonumber(ARGV[6]))
for i = first, last, 2 do
  if ARGV[i] < ARGV[i + 1] then remove(redis.call("ZRANGEBYLEX", KEYS[1], "[" .. ARGV[i], "(" .. ARGV[i + 1])) end
end
first, last = take(2 * tonumber(ARGV[7]))
for i = first, last, 2 do
  if redis.call("HSET", KEYS[2], ARGV[i], ARGV[i + 1]) == 1 then redis.call("ZADD", KEYS[1], 0, ARGV[i]) end
end
redis.call("HSET", KEYS[4], "version", ${VERSION}, "records", redis.call("ZCARD", KEYS[1]))
redis.call("HINCRBY", KEYS[4], "commits", 1)
local ttl = tonumber(ARGV[2])
if ttl > 0 then
  -- One moment for all four, so that nobody ever sees some of them.
  local moment = string.format("%.0f", now * 1000 + math.floor(tonumber(time[2]) / 1000) + ttl)
  for i = 1, 4 do redis.call("PEXPIREAT", KEYS[i], moment) end
else
  for i = 1, 4 do redis.call("PERSIST", KEYS[i]) end
end
return {"done"}
`;

/**
 * A piece of a scan. ARGV: the bounds as Redis has them (the greater first when reversed), "1" when reversed, how many
 * records at most (-1: all), how many bytes are enough, "1" if keys alone will do where values are large: Lua copies a value several times.
 * Answers with how many commits there were, whether there is more, whether keys come alone, and keys and values in turn.
 */
export const SCAN = `${CHECK}
local command = ARGV[3] == "1" and "ZREVRANGEBYLEX" or "ZRANGEBYLEX"
local left, room = tonumber(ARGV[4]), tonumber(ARGV[5])
local answer = {"done", redis.call("HGET", KEYS[4], "commits") or "0", "0", "0"}
local function size(key) return redis.call("HSTRLEN", KEYS[2], key) end
local from = ARGV[1]
while left ~= 0 do
  local step = 100
  if left > 0 and left < step then step = left end
  local keys = redis.call(command, KEYS[1], from, ARGV[2], "LIMIT", 0, step)
  if #keys == 0 then break end
  if ARGV[6] == "1" and #answer == 4 then
    local first = 0
    for i = 1, math.min(#keys, 8) do first = first + size(keys[i]) end
    if first > ${LARGE} then answer[4] = "1" end
  end
  local bare = answer[4] == "1"
  local values = bare and {} or redis.call("HMGET", KEYS[2], unpack(keys))
  for i = 1, #keys do
    if not bare and not values[i] then return {"torn"} end
    answer[#answer + 1] = keys[i]
    if not bare then answer[#answer + 1] = values[i] end
    room = room - #keys[i] - (bare and size(keys[i]) or #values[i])
  end
  -- From the last key on: to be told an offset, Redis would walk over all that came before, again and again.
  from = "(" .. keys[#keys]
  if left > 0 then left = left - #keys end
  if #keys < step then break end
  if room <= 0 and left ~= 0 then
    answer[3] = "1"
    break
  end
end
return answer
`;

/** Removes all of a keep, damaged or not. */
export const DELETE = `
local version = tonumber(redis.call("HGET", KEYS[4], "version") or "${VERSION}")
if version > ${VERSION} then return {"newer-version", version} end
redis.call("UNLINK", KEYS[1], KEYS[2], KEYS[3], KEYS[4])
return {"done"}
`;
