/** The public client generators: what each needs, how it makes a client, and how its story runs. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../../src/lib/errors.ts';

const run = promisify(execFile);
const STORIES = join(import.meta.dirname, 'stories');
const OUTPUT_BYTES = 64 * 1_024 * 1_024;
const GENERATOR_JAR = '7.25.0';

export interface Generator {
  name: string;
  /** Fetches the generator, makes a client of the description in the folder, and returns how the story is run. */
  prepare: (folder: string, description: string) => Promise<readonly [program: string, ...words: string[]]>;
}

/** @throws Error with what the program said */
async function sh(cwd: string, program: string, ...words: string[]): Promise<void> {
  try {
    await run(program, words, { cwd, maxBuffer: OUTPUT_BYTES });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${words.join(' ')}: ${messageOf(error)}\n${stdout}\n${stderr}`, {
      cause: error,
    });
  }
}

/** Checks the types of the story with those of the client, and makes one file of both. */
async function typescriptStory(folder: string, story: string) {
  for (const name of [`${story}.ts`, 'beside.ts']) copyFileSync(join(STORIES, name), join(folder, name));
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [`${story}.ts`] }));
  await sh(folder, 'npx', 'tsc', '-p', '.');
  await sh(
    folder,
    'npx',
    'esbuild',
    `${story}.ts`,
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--outfile=story.mjs',
  );
  return [process.execPath, join(folder, 'story.mjs')] as const;
}

async function npmInstall(folder: string, ...packages: string[]): Promise<void> {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const common = ['typescript@5.9.3', 'esbuild@0.28.2', '@types/node@24.10.1'];
  await sh(folder, 'npm', 'install', '--no-audit', '--no-fund', ...packages, ...common);
}

async function pythonStory(folder: string, story: string, ...packages: string[]) {
  await sh(folder, 'python3', '-m', 'venv', 'python');
  await sh(folder, join(folder, 'python/bin/pip'), 'install', '--quiet', ...packages);
  copyFileSync(join(STORIES, `${story}.py`), join(folder, 'story.py'));
  return [join(folder, 'python/bin/python'), join(folder, 'story.py')] as const;
}

export const GENERATORS: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    prepare: async (folder, description) => {
      await npmInstall(folder, 'openapi-typescript@7.13.0', 'openapi-fetch@0.17.0');
      await sh(folder, 'npx', 'openapi-typescript', description, '-o', 'schema.ts');
      return typescriptStory(folder, 'openapi-typescript');
    },
  },
  {
    name: 'hey-api',
    prepare: async (folder, description) => {
      await npmInstall(folder, '@hey-api/openapi-ts@0.99.0');
      await sh(folder, 'npx', 'openapi-ts', '-i', description, '-o', 'client', '-c', '@hey-api/client-fetch');
      return typescriptStory(folder, 'hey-api');
    },
  },
  {
    name: 'openapi-python-client',
    prepare: async (folder, description) => {
      const story = await pythonStory(
        folder,
        'openapi_python_client',
        'openapi-python-client==0.29.1',
        'ruff',
      );
      const program = join(folder, 'python/bin/openapi-python-client');
      await sh(
        folder,
        program,
        'generate',
        '--path',
        description,
        '--meta',
        'none',
        '--output-path',
        'gateway_client',
      );
      return story;
    },
  },
  {
    name: 'openapi-generator',
    prepare: async (folder, description) => {
      const artifact = `org.openapitools:openapi-generator-cli:${GENERATOR_JAR}`;
      await sh(folder, 'mvn', '-q', 'dependency:get', `-Dartifact=${artifact}`, '-Dtransitive=false');
      const jar = join(
        homedir(),
        `.m2/repository/org/openapitools/openapi-generator-cli/${GENERATOR_JAR}/openapi-generator-cli-${GENERATOR_JAR}.jar`,
      );
      await sh(folder, 'java', '-jar', jar, 'validate', '-i', description);
      await sh(
        folder,
        'java',
        '-jar',
        jar,
        'generate',
        '-i',
        description,
        '-g',
        'python',
        '-o',
        'made',
        '--additional-properties=packageName=gateway_client',
      );
      mkdirSync(join(folder, 'made'), { recursive: true });
      renameSync(join(folder, 'made/gateway_client'), join(folder, 'gateway_client'));
      return pythonStory(folder, 'openapi_generator', '-r', join(folder, 'made/requirements.txt'));
    },
  },
];
