/** Routes of conversations. Each conversation is visible only to the API key that created it. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Operation } from '../../../http/openapi/operation.js';
import { bodyRoute } from '../../../http/read-fields.js';
import type { AppContext } from '../../context.js';
import {
  type ChangedConversation,
  type Conversation,
  changedConversationSchema,
  conversationItemSchema,
  conversationSchema,
  type DeletedConversation,
  deletedConversationSchema,
  type NewConversation,
  type NewItems,
  newConversationSchema,
  newItemsSchema,
} from './conversations-schema.js';
import type { InputItem, StoredItem } from './input-schema.js';
import { nameItems, PAGE_QUERY, toItemList, toItemPage } from './item-page.js';
import { inputItemListSchema } from './object-schema.js';
import type { OwnResponses } from './own-responses.js';
import { resolveItems } from './resolve-input.js';

const URL = '/v1/conversations';
const ONE = `${URL}/:id`;
const ITEMS = `${ONE}/items`;
const ITEM = `${ITEMS}/:item_id`;

type ById = FastifyRequest<{ Params: { id: string }; Querystring: Record<string, unknown> }>;
type ByItem = FastifyRequest<{ Params: { id: string; item_id: string } }>;

export function conversationsRoutes(
  app: FastifyInstance,
  context: AppContext,
  ownOf: (request: Pick<FastifyRequest, 'headers'>) => OwnResponses,
): void {
  const { bodyLimit } = context.options;
  /** Items may contain images. */
  const withItems = (schema: Parameters<typeof bodyRoute>[1], operation: Operation) => {
    const settings = bodyRoute(context, schema, operation);
    return { ...settings, preValidation: [settings.preValidation, nameItems('items')], bodyLimit };
  };

  const create = withItems(newConversationSchema, createConversation);
  app.post<{ Body: NewConversation }>(URL, create, async (request): Promise<Conversation> => {
    const { items = [], metadata = {} } = request.body;
    const own = ownOf(request);
    return own.conversations.create(toStored(items, own), metadata);
  });

  app.get(ONE, { config: { operation: retrieveConversation } }, async (request: ById) => {
    return ownOf(request).conversations.get(request.params.id).conversation;
  });

  const update = bodyRoute(context, changedConversationSchema, updateConversation);
  app.post<{ Params: { id: string }; Body: ChangedConversation }>(ONE, update, async (request) => {
    return ownOf(request).conversations.setMetadata(request.params.id, request.body.metadata ?? {});
  });

  app.delete(ONE, { config: { operation: deleteConversation } }, async (request: ById) => {
    const { id } = request.params;
    ownOf(request).conversations.delete(id);
    return { id, object: 'conversation.deleted', deleted: true } satisfies DeletedConversation;
  });

  app.get(ITEMS, { config: { operation: listItems } }, async (request: ById) => {
    return toItemPage(ownOf(request).conversations.get(request.params.id).items, request.query);
  });

  const add = withItems(newItemsSchema, createItems);
  app.post<{ Params: { id: string }; Body: NewItems }>(ITEMS, add, async (request) => {
    const own = ownOf(request);
    const added = own.conversations.add(request.params.id, toStored(request.body.items, own));
    return toItemList([...added], false);
  });

  app.get(ITEM, { config: { operation: retrieveItem } }, async (request: ByItem) => {
    const { id, item_id } = request.params;
    return ownOf(request).conversations.item(id, item_id);
  });

  app.delete(ITEM, { config: { operation: deleteItem } }, async (request: ByItem) => {
    const { id, item_id } = request.params;
    return ownOf(request).conversations.remove(id, item_id);
  });
}

function toStored(items: readonly InputItem[], { store }: OwnResponses): StoredItem[] {
  return store === null ? [] : resolveItems(items, store);
}

const PARAMETERS = { id: 'The id of the conversation.' };
const ITEM_PARAMETERS = { ...PARAMETERS, item_id: 'The id of the item.' };
const ERRORS = ['response_not_found', 'unsupported_parameter', 'store_failed'] as const;
const ID = 'conv_5e2c7a9b1d3f4860a2c4e6f8b0d1a3c5';
const ITEM_ID = 'msg_7f3c9a1e5b2d4c6f8a0e1d3b5c7f9a20';

const conversation: Conversation = {
  id: ID,
  object: 'conversation',
  created_at: 1_790_000_000,
  metadata: { topic: 'numbers' },
};
const sentItem = { type: 'message', role: 'user', content: 'Count from 3 to 6' };
const storedItem = {
  type: 'message',
  role: 'user',
  status: 'completed',
  content: [{ type: 'input_text', text: 'Count from 3 to 6' }],
  id: ITEM_ID,
};
const itemList = { object: 'list', data: [storedItem], first_id: ITEM_ID, last_id: ITEM_ID, has_more: false };

const oneConversation = { json: { name: 'Conversation', schema: conversationSchema } };
const list = { json: { name: 'InputItemList', schema: inputItemListSchema } };

const base = { tag: 'Chat', parameters: PARAMETERS, errors: ERRORS, reply: oneConversation } as const;

const createConversation: Operation = {
  ...base,
  id: 'createConversation',
  summary: 'Creates a conversation, which responses continue and extend.',
  description: 'Conversations are stored for 30 days after their last change.',
  examples: () => ({
    made: {
      summary: 'One message to begin with',
      request: { items: [sentItem], metadata: conversation.metadata },
      reply: conversation,
    },
  }),
};

const retrieveConversation: Operation = {
  ...base,
  id: 'retrieveConversation',
  summary: 'A conversation, without its items.',
};

const updateConversation: Operation = {
  ...base,
  id: 'updateConversation',
  summary: 'Replaces the metadata of a conversation.',
  examples: () => ({
    changed: { summary: 'A topic', request: { metadata: conversation.metadata }, reply: conversation },
  }),
};

const deleteConversation: Operation = {
  ...base,
  id: 'deleteConversation',
  summary: 'Deletes a conversation; its responses are kept.',
  reply: { json: { name: 'DeletedConversation', schema: deletedConversationSchema } },
};

const listItems: Operation = {
  ...base,
  id: 'listConversationItems',
  summary: 'Items of a conversation.',
  description: PAGE_QUERY,
  errors: [...ERRORS, 'invalid_value'],
  reply: list,
};

const createItems: Operation = {
  ...base,
  id: 'createConversationItems',
  summary: 'Adds items to a conversation.',
  reply: list,
  examples: () => ({
    added: { summary: 'One message', request: { items: [sentItem] }, reply: itemList },
  }),
};

const retrieveItem: Operation = {
  ...base,
  id: 'retrieveConversationItem',
  summary: 'One item of a conversation.',
  parameters: ITEM_PARAMETERS,
  reply: { json: { name: 'ConversationItem', schema: conversationItemSchema } },
};

const deleteItem: Operation = {
  ...base,
  id: 'deleteConversationItem',
  summary: 'Removes an item from a conversation.',
  parameters: ITEM_PARAMETERS,
};
