/** Checks the profiles of a manifest against the known profiles (docs/interface/blueprints.md#problems). */
import type { ProfileCatalogue } from './catalogue.ts';
import { conformance, entriesOf } from './conformance.ts';
import { mapOf, sectionOf } from '../source/tree.ts';
import type { ManifestContext } from '../validation/context.ts';
import type { Problems } from '../validation/problems.ts';
import { listed } from '../validation/shape.ts';

/** Checks listed profiles and references of a 3.0 manifest. */
export function checkProfiles(context: ManifestContext, catalogue: ProfileCatalogue): void {
  const { manifest, problems, lenient } = context;
  const entries = entriesOf(manifest);
  const known: string[] = [];
  let isComplete = true;
  for (const field of ['implements', 'implements_draft']) {
    for (const [path, id] of listed(field, manifest.get(field))) {
      const profile = catalogue.revisions
        .map((revision) => revision.get(id))
        .find((found) => found !== undefined);
      if (profile === undefined) lenient.add(path, `unknown profile "${id}"`);
      else if (profile.draft && field === 'implements')
        problems.add(path, `profile "${id}" is a draft; list it in implements_draft`);
      else lenient.addAll(conformance(catalogue, id, path, entries).problems);
      if (profile !== undefined) known.push(id);
      else isComplete = false;
    }
  }
  // An unknown profile may implement others, so references cannot be judged strictly.
  checkReferences(context, catalogue, known, isComplete ? problems : lenient);
}

function checkReferences(
  context: ManifestContext,
  catalogue: ProfileCatalogue,
  known: string[],
  unlisted: Problems,
): void {
  const covered = new Set(
    known.flatMap((id) => catalogue.revisions.flatMap((revision) => revision.closure(id))),
  );
  for (const section of ['properties', 'telemetry', 'commands']) {
    for (const [key, value] of sectionOf(context.manifest.get(section))) {
      const references = listed(`${section}.${String(key)}.implements`, mapOf(value).get('implements'));
      for (const [path, reference] of references) {
        const resolved = catalogue.resolveReference(reference);
        if (resolved === undefined) context.lenient.add(path, `unknown profile attribute "${reference}"`);
        else if (!covered.has(resolved.profile))
          unlisted.add(path, `profile "${resolved.profile}" is not listed in implements`);
      }
    }
  }
}
