export { Journal } from './journal.ts';
export { readJournal, type JournalDamage, type JournalRecord } from './read-journal.ts';
export { nodeFiles, type JournalFiles } from './files.ts';
export { readCompanion } from './companion.ts';
export { Refusal } from './refusal.ts';
