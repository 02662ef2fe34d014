/** The thread that tends databases beside the event loop. One task at a time. */
import { serveTasks } from '../workers/index.ts';
import { type OpenFile, runUpkeep, type UpkeepTask } from './upkeep-tasks.ts';

serveTasks((task: UpkeepTask & OpenFile) => runUpkeep(task));
