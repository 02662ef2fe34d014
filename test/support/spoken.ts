/**
 * What the console would say without its catalogue of words: texts between tags, in attributes that people read or hear,
 * and sentences in code. It is judged by the syntax that the compiler sees.
 */
import { relative } from 'node:path';
import { type Node, SyntaxKind } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/sync';
import { lineAt } from './source-files.ts';

/** Attributes that nobody reads; `name` is one where it begins small. */
const TECHNICAL =
  /^(?:class|type|dir|href|role|d|id|key|kind|rel|list|step|scope|style|accept|pattern|autocomplete|autocapitalize|viewBox|preserveAspectRatio|text-anchor|transform|stroke-dasharray|base|prefix|suggested|loading|data-.*|aria-(?:hidden|current|sort|labelledby|describedby|activedescendant|live))$/;
/** Members of objects that people read. */
const READ = /^(?:text|title|label|hint|about|nothing|none)$/;
const SENTENCE = /^\p{Lu}\p{Ll}|\p{L}[,.:;!?]? \p{L}|^ \p{L}|\p{L} $|…/u;
/** Addresses, as examples and to ask, and what only HTTP reads. */
const ADDRESS = /^(?:\/|#\/|https?:|mqtts:|\S+@\S+$|\S+\.example)|^\(prefers-/;
const LETTER = /\p{L}/u;

const CHOICES = new Set([
  SyntaxKind.BarBarToken,
  SyntaxKind.AmpersandAmpersandToken,
  SyntaxKind.QuestionQuestionToken,
]);

interface Around {
  /** What is drawn is the value of this very expression. */
  isShown: boolean;
  /** It is known not to be read by anybody. */
  isTechnical: boolean;
}

const NOWHERE: Around = { isShown: false, isTechnical: false };

/** @param project path of a tsconfig.json @returns `file:line: text` for what is said outside of `words/` */
export function spokenOutside(
  project: string,
  root: string,
  isExcepted: (path: string) => boolean,
): string[] {
  const api = new API({ cwd: root });
  try {
    const [opened] = api.updateSnapshot({ openProjects: [project] }).getProjects();
    if (!opened) throw new Error(`${project} is no project`);
    const { program } = opened;
    const folder = project.slice(0, project.lastIndexOf('/') + 1);
    return program
      .getSourceFileNames()
      .filter((path) => path.startsWith(folder) && !isExcepted(path.slice(folder.length)))
      .flatMap((path) => {
        const file = program.getSourceFile(path);
        if (!file) return [];
        const found: string[] = [];
        look(file, NOWHERE, (node, text) => {
          const start = node.pos + (/^\s*/.exec(file.text.slice(node.pos, node.end))?.[0].length ?? 0);
          const line = lineAt(file.text, start);
          found.push(`${relative(root, path)}:${line}: ${text.replaceAll(/\s+/g, ' ').trim()}`);
        });
        return found;
      });
  } finally {
    api.close();
  }
}

type Report = (node: Node, text: string) => void;

function look(node: Node, around: Around, report: Report): void {
  if (is.isImportDeclaration(node) || is.isExportDeclaration(node) || isType(node)) return;
  if (is.isJsxText(node)) {
    if (LETTER.test(node.text) && !around.isTechnical) report(node, node.text);
    return;
  }
  const text = textOf(node);
  if (text !== undefined && isSaid(node, text, around)) report(node, text);
  node.forEachChild((child) => look(child, aroundChild(node, child, around), report));
}

const isType = (node: Node): boolean =>
  is.isLiteralTypeNode(node) || is.isInterfaceDeclaration(node) || is.isTypeAliasDeclaration(node);

/** Letters of a text, without what is put into it. */
function textOf(node: Node): string | undefined {
  if (is.isStringLiteral(node) || is.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!is.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('◌');
}

function isSaid(node: Node, text: string, { isShown, isTechnical }: Around): boolean {
  if (isTechnical || !LETTER.test(text) || ADDRESS.test(text) || isUnit(text)) return false;
  const { parent } = node;
  const isRead =
    is.isPropertyAssignment(parent) && parent.initializer === node && READ.test(nameOf(parent.name));
  return isShown || isRead || SENTENCE.test(text);
}

/** `◌ kWh`: numbers with units of measurement are the same everywhere. */
const isUnit = (text: string): boolean => /^◌? ?(?:[kM]?Wh?|values\/s|KiB|baud)$/.test(text);

const nameOf = (node: Node): string => ('text' in node ? String(node.text) : '');

function aroundChild(node: Node, child: Node, around: Around): Around {
  if (is.isJsxAttribute(node)) {
    const name = nameOf(node.name);
    const value = node.initializer && textOf(node.initializer);
    const isTechnical = TECHNICAL.test(name) || (name === 'name' && /^\p{Ll}/u.test(value ?? 'a'));
    return { isShown: !isTechnical && name !== 'value', isTechnical };
  }
  if (is.isJsxElement(node) && nameOf(node.openingElement.tagName) === 'code')
    return { ...NOWHERE, isTechnical: true };
  if (is.isJsxElement(node) || is.isJsxFragment(node)) return { isShown: true, isTechnical: false };
  if (is.isJsxExpression(node) || is.isParenthesizedExpression(node)) return around;
  if (is.isConditionalExpression(node)) return child === node.condition ? NOWHERE : around;
  if (is.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    if (CHOICES.has(kind)) return child === node.right ? around : NOWHERE;
    return { isShown: false, isTechnical: kind !== SyntaxKind.PlusToken };
  }
  if (is.isPropertyAssignment(node)) return { isShown: false, isTechnical: child === node.name };
  if (is.isCaseClause(node)) return { isShown: false, isTechnical: child === node.expression };
  if (is.isElementAccessExpression(node) || is.isTaggedTemplateExpression(node))
    return { ...NOWHERE, isTechnical: true };
  return { isShown: false, isTechnical: around.isTechnical && !is.isArrowFunction(node) };
}
