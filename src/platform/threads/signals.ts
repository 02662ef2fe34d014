/** What a thread and the one that started it say to each other before anything else is said. */

/**
 * First thing that a thread says. One that is ended while it loads the native part of a library takes the whole program
 * along: its environment answers no call any more, and the library takes that for a fatal error.
 */
export const LOADED = 'loaded';

/** Asks a thread to end itself between two turns of its event loop. */
export const END = 'end';
