/** Entry of the thread that judges and compiles uploads. */
import { serveTasks } from '../../platform/workers/index.ts';
import { catalogueOf } from './built-in.ts';
import { compileArchive, type CompileTask } from './compile-archive.ts';

serveTasks(({ zip, profiles, checks }: CompileTask) => compileArchive(zip, catalogueOf(profiles), checks));
