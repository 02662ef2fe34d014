/** All paths of an operation on one device; the first is the canonical one (docs/interface/http.md#other-names). */
export function devicePaths(suffix: string): [string, ...string[]] {
  return [
    `/v3/devices/{device_id}${suffix}`,
    `/v3/sites/{site_id}/devices/{device_id}${suffix}`,
    `/v3/site/devices/{device_id}${suffix}`,
  ];
}
