export { createSyntaxChecker, luaSource, type SyntaxChecker, type SyntaxFault } from './syntax.ts';
export { LuaAbort, LuaInstance, luaModule, type LuaExports, type Pointer } from './wasm.ts';
