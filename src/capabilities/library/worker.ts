/** Entry of the thread that reads and compiles device templates. */
import { serveTasks } from '../../platform/workers/index.ts';
import { LibraryFiles } from './library-files.ts';
import { Recogniser } from './recognition.ts';
import type { LibraryTask } from './tasks.ts';
import { answerOf } from './templates.ts';

const files = new LibraryFiles();
const recogniser = new Recogniser(files);

serveTasks((task: LibraryTask) => answerOf(task, files, recogniser));
