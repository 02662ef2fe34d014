-- Coroutines of the script, also where the host pauses them at any instruction.
local function gen(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local sum = 0
for v in gen(100) do sum = sum + v end
print(sum)
local co = coroutine.create(function(a, b)
  local c = coroutine.yield(a + b)
  local d, e = coroutine.yield(c * 2)
  return d + e, "end"
end)
print(coroutine.resume(co, 1, 2)); print(coroutine.status(co)); print(coroutine.resume(co, 10)); print(coroutine.resume(co, 3, 4))
print(coroutine.status(co), coroutine.resume(co))
print(coroutine.resume(coroutine.create(function() error("oops") end)))
print(coroutine.resume(coroutine.create(function() error({ 1 }) end)) == false)
print(select("#", coroutine.resume(coroutine.create(function() coroutine.yield() end))))
print(select("#", coroutine.resume(coroutine.create(function() coroutine.yield(nil) end))))
print(select("#", coroutine.resume(coroutine.create(function() coroutine.yield(nil, nil) end))))
print(pcall(coroutine.wrap(function() error("in wrap") end)))
local w = coroutine.wrap(function() return 1 end)
w(); print(pcall(w))
local function tree(t) if t then tree(t[1]); coroutine.yield(t.v); tree(t[2]) end end
for v in coroutine.wrap(function() tree({ { v = 1 }, { { v = 3 }, { v = 5 }, v = 4 }, v = 2 }) end) do io.write(v, " ") end
print()
-- pcall across yields, nested coroutines, metamethods that yield.
local c2 = coroutine.create(function()
  local ok, err = pcall(function() coroutine.yield("inside"); error("after") end)
  coroutine.yield(ok, err)
  local t = setmetatable({}, { __index = function(_, k) return coroutine.yield("index " .. k) end, __add = function() return coroutine.yield("add") end })
  return t.foo, t + 1
end)
print(coroutine.resume(c2)); print(coroutine.resume(c2)); print(coroutine.resume(c2)); print(coroutine.resume(c2, "v1")); print(coroutine.resume(c2, "v2"))
local outer = coroutine.wrap(function()
  local inner = coroutine.wrap(function() coroutine.yield("a"); coroutine.yield("b") end)
  coroutine.yield(inner()); coroutine.yield(inner()); coroutine.yield(coroutine.isyieldable())
end)
print(outer(), outer(), outer())
print(coroutine.close(coroutine.create(function() end)))
local cx = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() print("closing") end }); coroutine.yield() end)
coroutine.resume(cx); print(coroutine.close(cx), coroutine.status(cx))
local me
me = coroutine.create(function() print(coroutine.status(me), select(2, coroutine.resume(me)), coroutine.running() == me) end)
coroutine.resume(me)
local p1 = coroutine.create(function() coroutine.resume(coroutine.create(function() print(coroutine.status(P1)) end)) end)
P1 = p1; coroutine.resume(p1)
table.sort({ 3, 1, 2 }, function(a, b) local c = coroutine.wrap(function() coroutine.yield(a < b) end) return c() end)
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local producers = {}
for i = 1, 5 do producers[i] = coroutine.wrap(function() for j = 1, 5 do coroutine.yield(i * fib(3 + j)) end return "done" end) end
for _ = 1, 6 do for i = 1, 5 do io.write(tostring(producers[i]()), " ") end end
print()
local function chain(n) if n == 0 then return coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) end local prev = chain(n - 1) return coroutine.wrap(function() for v in prev do coroutine.yield(v + 1) end end) end
for v in chain(4) do io.write(v, " ") end
print()
