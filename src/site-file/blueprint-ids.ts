/** Finds the blueprints of a site file on the gateway by their bytes, because uploads have no names there. */
import { hash } from 'node:crypto';
import type { Api } from './api.ts';
import type { WantedBlueprint } from './read.ts';
import type { Step } from './step.ts';

const NAMED = /^[^/]+\/[^/]+\/[^/]+$/;

export type BlueprintIds = Awaited<ReturnType<typeof blueprintIds>>;

export async function blueprintIds(wanted: readonly WantedBlueprint[], api: Api) {
  /** Name in the file → ids of uploads with the same bytes. */
  const ids = new Map(wanted.map(({ name }): [string, string[]] => [name, []]));
  const listed =
    wanted.length === 0 ? [] : await api.all<{ id: string; source: string }>('/v3/blueprints', 'blueprints');
  for (const { id, source } of listed) {
    if (source !== 'UPLOADED') continue;
    const here = hash('sha256', await api.bytes(`/v3/blueprints/${id}/zip?view=ORIGINAL`));
    for (const { name, zip } of wanted) if (hash('sha256', zip) === here) ids.get(name)?.push(id);
  }
  return {
    /** Steps that upload missing blueprints. */
    steps: (): Step[] =>
      wanted
        .filter(({ name }) => ids.get(name)?.length === 0)
        .map(({ name, zip }) => ({
          change: `blueprint "${name}": new`,
          run: async () => {
            const { id } = await api.send<{ id: string }>('POST', '/v3/blueprints/upload', zip);
            ids.set(name, [id]);
          },
        })),
    /**
     * Ids of a blueprint by its name in the file, by an id, or by `namespace/name/tag`; empty while it is not uploaded yet,
     * undefined when there is none.
     */
    meantBy: async (reference: string): Promise<readonly string[] | undefined> => {
      const own = ids.get(reference);
      if (own) return own;
      const path = NAMED.test(reference)
        ? reference.split('/').map(encodeURIComponent).join('/')
        : encodeURIComponent(reference);
      const found = await api.find<{ blueprint: { id: string } }>(`/v3/blueprints/${path}`);
      return found && [found.blueprint.id];
    },
  };
}
