/** Whether others on the way can read what is typed. */
export function isOpenToListeners(): boolean {
  return location.protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(location.hostname);
}
