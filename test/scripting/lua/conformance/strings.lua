-- Bytes, packing, patterns.
local function hex(s) return (s:gsub(".", function(c) return string.format("%02x", c:byte()) end)) end
print(hex(string.pack(">I2I4i8", 258, 4294967295, -2)), hex(string.pack("<fd", 1.5, -2.25)), hex(string.pack("z s1 s2", "ab", "c", "de")))
print(string.unpack(">I4", "\255\255\255\255"), string.unpack("<i4", "\254\255\255\255"), string.unpack(">I8", string.pack(">I8", -1)))
print(string.unpack("<i8", string.pack("<i8", math.mininteger)), string.packsize("i4i8!8d"), string.unpack("z", "abc\0def"))
print(pcall(string.pack, "I1", 256))
print(pcall(string.unpack, ">I4", "abc"))
print(#"\0a\255", ("\0a\255"):byte(1, -1), "\x41\u{20AC}\z
   end", '\065')
print(("x"):rep(3, ","), ("abc"):reverse(), ("AbC"):upper(), ("AbC"):lower(), ("hello"):sub(-3), ("hello"):sub(2, 3))
print(("hello world"):find("o w"), ("hello"):find("l+"), ("a.b"):find(".", 1, true), ("abc"):find("b", -1), (""):find(""))
print(("key = value"):match("^(%w+)%s*=%s*(%w+)$"), ("2024-05-06"):match("(%d+)-(%d+)-(%d+)"), ("abc"):match("()b()"))
print(("THE (quick) fox"):find("%((%a+)%)"), ("f(a(b)c)d"):match("%b()"), ("THE (quick) fox"):gsub("%f[%a]%a+", "W"))
print(("hello world"):gsub("o", "0"), ("abc"):gsub("", "-"), ("abc"):gsub("%w", "%0%0"), ("abc"):gsub("b", { b = "X" }), ("abc"):gsub("%w", function(c) if c == "b" then return false end return c .. "." end))
print(pcall(string.gsub, "x", "(", ""))
print(pcall(string.rep, "x", -1))
for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do io.write(k, v, ";") end
print()
print(("%d"):format(7), ("x"):byte(), string.char(104, 105), #string.char(), tostring(nil), tostring(true))
print(table.concat({ 1, 2.5, "x" }, "-"), pcall(table.concat, { {} }))
print(utf8.char(72, 228, 8364, 128512), utf8.len("häß€"), utf8.codepoint("€", 1), utf8.offset("a€b", 3), utf8.len("\255"))
for p, c in utf8.codes("aé€") do io.write(p, ":", c, " ") end
print()
print("a" < "b", "a" < "B", "" < "a", "a\0b" < "a\0c", "10" < "9")
