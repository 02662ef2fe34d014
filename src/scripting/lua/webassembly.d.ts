/** The part of the WebAssembly interface that the Lua binding uses; Node has it, the type libraries in use do not. */
declare namespace WebAssembly {
  type ModuleImports = Record<string, (...values: never[]) => unknown>;

  class Module {
    constructor(bytes: Uint8Array);
    private readonly brand: 'module';
  }

  class Instance {
    constructor(module: Module, imports: Record<string, ModuleImports>);
    readonly exports: unknown;
  }

  interface Memory {
    readonly buffer: ArrayBuffer;
    /** By 64 KiB pages. @throws RangeError when the host has no more. */
    grow(pages: number): number;
  }

  interface Global {
    value: number;
  }

  interface Table {
    readonly length: number;
    get(index: number): unknown;
    set(index: number, value: unknown): void;
    grow(entries: number): number;
  }
}
