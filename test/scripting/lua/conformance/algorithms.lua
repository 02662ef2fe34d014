-- Longer computations: closures, recursion, strings as buffers, sorting.
local function sieve(n) local is, out = {}, {} for i = 2, n do is[i] = true end for i = 2, n do if is[i] then out[#out + 1] = i for j = i * i, n, i do is[j] = false end end end return out end
local primes = sieve(2000); print(#primes, primes[#primes])
local function queens(n) local count, cols, d1, d2 = 0, {}, {}, {}
  local function place(r) if r > n then count = count + 1 return end for c = 1, n do if not cols[c] and not d1[r + c] and not d2[r - c + n] then cols[c], d1[r + c], d2[r - c + n] = true, true, true place(r + 1) cols[c], d1[r + c], d2[r - c + n] = nil, nil, nil end end end
  place(1) return count end
print(queens(6))
local function crc16(s) local crc = 0xFFFF for i = 1, #s do crc = crc ~ s:byte(i) for _ = 1, 8 do if crc & 1 == 1 then crc = (crc >> 1) ~ 0xA001 else crc = crc >> 1 end end end return crc end
print(crc16("123456789"), string.format("%04X", crc16("\1\3\0\0\0\10")))
local function fnv(s) local h = 0xcbf29ce484222325 for i = 1, #s do h = (h ~ s:byte(i)) * 0x100000001b3 end return h end
print(string.format("%016x", fnv("energy")))
local memo = setmetatable({}, { __index = function(t, n) local v = n < 2 and n or t[n - 1] + t[n - 2] rawset(t, n, v) return v end })
print(memo[90])
local words = {}
for w in ("the quick brown fox jumps over the lazy dog the end"):gmatch("%a+") do words[w] = (words[w] or 0) + 1 end
local keys = {} for k in pairs(words) do keys[#keys + 1] = k end table.sort(keys, function(a, b) if words[a] ~= words[b] then return words[a] > words[b] end return a < b end)
for _, k in ipairs(keys) do io.write(k, words[k], " ") end print()
local function permutations(a, n, f) if n == 0 then f(a) else for i = 1, n do a[i], a[n] = a[n], a[i] permutations(a, n - 1, f) a[i], a[n] = a[n], a[i] end end end
local n = 0 permutations({ 1, 2, 3, 4, 5 }, 5, function(a) n = n + a[1] * a[5] end) print(n)
local Account = {} Account.__index = Account
function Account.new(b) return setmetatable({ balance = b }, Account) end
function Account:deposit(v) if v <= 0 then error("invalid amount", 2) end self.balance = self.balance + v return self end
print(Account.new(10):deposit(5).balance, pcall(function() Account.new(1):deposit(-1) end))
local x, y = 0.0, 0.0 for i = 1, 1000 do x, y = x * x - y * y + 0.25, 2 * x * y + 0.1 if x * x + y * y > 4 then break end end print(string.format("%.10f %.10f", x, y))
print(os.time({ year = 2024, month = 2, day = 30, hour = 12 }) - os.time({ year = 2024, month = 3, day = 1, hour = 12 }))
local d = os.date("!*t", 1709294399) print(d.year, d.month, d.day, d.hour, d.min, d.sec, d.wday, d.yday, d.isdst)
print(os.date("!%Y-%m-%d %H:%M:%S %a %A %b %B %j %p %I %y %% %U %W %V %G %g %u %w %e %D %F %R %T %C %h", 1709294399))
print(os.date("!%c | %x | %X | %r", 0), os.date("!%d", 86400 * 3), (pcall(os.date, "%Q", 0)))
local nt = { year = 2024, month = 14, day = -3, hour = 25, min = 61 } print(os.time(nt) ~= nil, nt.year, nt.month, nt.day, nt.hour, nt.min, nt.wday, nt.yday)
print(pcall(os.time, { year = 2024, month = 1 }))
print(pcall(os.time, { year = 2024, month = "x", day = 1 }))
