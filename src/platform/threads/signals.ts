/** Messages between a thread and its starter that come before and after all others. */

/**
 * First message of a thread. Ending a thread while it loads the native part of a library ends the whole program: its
 * environment answers no call any more, and the library takes that for a fatal error.
 */
export const LOADED = 'loaded';

/** Asks a thread to end itself between two turns of its event loop. */
export const END = 'end';
