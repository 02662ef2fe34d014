/** Whether the gateway is there, as the one stream of everything tells. */
import { signal } from '@preact/signals';

/** The stream is open, or values are read without it. */
export const isConnected = signal(false);

/** It was tried and is not open: what devices are doing is not known. */
export const isAway = signal(false);

/** Why there is no stream although the gateway answers: it does not know the page's origin, or something stops streams. */
export const obstacle = signal<'origin' | 'stream' | undefined>(undefined);
