/** Notes, photos and documents of a device. */

export const documents = {
  notes: 'Notes',
  notesLabel: 'What others should know',
  notesHint: 'For example where its fuse is, who maintains it, what was agreed. All users can read it.',
  noNotes: 'Nobody has noted anything yet.',
  photosAndDocuments: 'Photos and documents',
  none: 'Photos of the type plate and the wiring, and the manual, are kept here for whoever comes next.',
  show: (name: string) => `Show ${name}`,
  deleteText: 'The file is deleted from the gateway. This cannot be undone.',
  name: 'Name of the next file',
  nameHint: 'Empty: the name of the file.',
  addPhoto: 'Add photo…',
  addDocument: 'Add document…',
  sending: 'Sending…',
  notReadable: 'This browser cannot read the picture. Save it as JPEG and try again.',
};
