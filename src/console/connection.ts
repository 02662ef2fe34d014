/** Whether the gateway is there, as the one stream of everything tells. */
import { signal } from '@preact/signals';

/** The stream is open. */
export const isConnected = signal(false);

/** It was tried and is not open: what devices are doing is not known. */
export const isAway = signal(false);
