/** The manifests of the box and its module in the language of the page; where nothing stands here, their own words. */

export interface ManifestWords {
  readonly [part: string | number]: string | ManifestWords;
}

export const ofBox: ManifestWords = {};
