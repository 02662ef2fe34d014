/** The name of the site, in the frame and in titles. */
import { signal } from '@preact/signals';
import { callFor } from './api.ts';
import { zone } from './zone.ts';
import type { Site } from './shapes.ts';
import { say } from './words/index.ts';

const UNNAMED = say.frame.product;

/** Undefined until the site was read once. */
export const site = signal<Site | undefined>(undefined);

export function siteName(): string {
  return site.value?.name ?? UNNAMED;
}

/** Takes over the stored site. */
export function takeSite(stored: Site): void {
  site.value = stored;
  zone.value = stored.timezone;
}

let loading: Promise<Site> | undefined;

/** Reads it anew; who asks while it is being read gets the same. */
export function loadSite(): Promise<Site> {
  loading ??= readSite().finally(() => {
    loading = undefined;
  });
  return loading;
}

async function readSite(): Promise<Site> {
  const stored = await callFor<Site>('site', 'GET', '/v3/site');
  takeSite(stored);
  return stored;
}
