-- Tables, metatables, iteration.
local t = { 10, 20, 30, nil, 50 }
print(#{ 1, 2, 3 }, select("#", table.unpack({ 1, nil, 3 }, 1, 3)), table.unpack({ 1, 2, 3 }, 2))
table.insert(t, 1, 5); print(t[1], t[2], table.remove({ 1, 2, 3 }), table.remove({ 1, 2, 3 }, 1))
print(table.concat(table.move({ 1, 2, 3 }, 2, 3, 1), ","), table.concat(table.move({ 1, 2 }, 1, 2, 3, { 9, 9 }), ","))
local s = { 5, 2, 8, 1, 9, 3 }
table.sort(s); print(table.concat(s, " ")); table.sort(s, function(a, b) return a > b end); print(table.concat(s, " "))
print(pcall(table.sort, { 1, "x" }))
local mt = {}
mt.__index = function(_, k) return k .. "!" end
mt.__newindex = function(tt, k, v) rawset(tt, k, v * 2) end
mt.__call = function(_, a, b) return a + b end
mt.__tostring = function() return "object" end
mt.__len = function() return 42 end
mt.__eq = function() return true end
mt.__lt = function(a, b) return a.n < b.n end
mt.__le = function(a, b) return a.n <= b.n end
mt.__concat = function(a, b) return "cat" end
mt.__add = function(a, b) return "add" end
mt.__idiv = function() return "idiv" end
mt.__band = function() return "band" end
mt.__shl = function() return "shl" end
mt.__unm = function() return "unm" end
mt.__bnot = function() return "bnot" end
local a, b = setmetatable({ n = 1 }, mt), setmetatable({ n = 2 }, mt)
print(a.foo, a(1, 2), tostring(a), #a, a == b, a < b, a <= b, a > b, a .. "x", 1 + a, a // 1, a & 1, a << 1, -a, ~a)
a.x = 21; print(rawget(a, "x"), rawlen(a), rawequal(a, b), getmetatable(a) == mt)
print(getmetatable("x").__index == string, getmetatable(setmetatable({}, { __metatable = "locked" })))
print(pcall(setmetatable, setmetatable({}, { __metatable = 1 }), {}))
local p = setmetatable({}, { __pairs = function(tt) return function(_, k) if not k then return 1, "one" end end, tt, nil end })
for k, v in pairs(p) do print(k, v) end
for i, v in ipairs({ 1, 2, nil, 4 }) do io.write(i, "=", v, " ") end
print(next({}), type(next), select(-1, 1, 2, 3), select("#"))
do
  local log = {}
  do
    local x <close> = setmetatable({}, { __close = function() log[#log + 1] = "closed" end })
    local y <const> = 5
    log[#log + 1] = "in" .. y
  end
  print(table.concat(log, " "))
end
for i = 1, 3 do
  for j = 1, 3 do
    if j == 2 then goto continue end
    io.write(i, j, " ")
    ::continue::
  end
end
print()
local function varargs(...) local x, y = ... return select("#", ...), x, y, ... end
print(varargs(nil, nil), (varargs(1, 2)))
print(pcall(error, { code = 7 }), select(2, pcall(error, { code = 7 })).code, pcall(error), pcall(error, nil))
print(xpcall(function() error("deep", 0) end, function(m) return "handled " .. m end))
print(select(2, pcall(function() local x = nil; return x.field end)))
print(select(2, pcall(function() undefinedfunction() end)))
print(select(2, pcall(function() return #5 end)))
print(select(2, pcall(function() return {} < {} end)))
print(load("return 1 + 1")(), load("syntax error here"), pcall(load, nil))
print(type(load(function() return nil end)), load("return ...", "n", "t", {})(9), load("x = 1", "n", "t", {}) ~= nil)
print(tostring(print):match("^function") or tostring(print):match("^builtin"), type(_G), _G._G == _G)
