/** All paths of an operation on the site; the first is the canonical one (http-contract.md section 14). */
export function sitePaths(suffix: string): [string, ...string[]] {
  return [`/v3/sites/{site_id}${suffix}`, `/v3/site${suffix}`];
}
