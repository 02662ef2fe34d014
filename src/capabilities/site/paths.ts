/** All paths of an operation on the site; the first is the canonical one (docs/interface/http.md#other-names). */
export function sitePaths(suffix: string): [string, ...string[]] {
  return [`/v3/sites/{site_id}${suffix}`, `/v3/site${suffix}`];
}
