import cohere


def check_embeddings(url, model):
    client = cohere.ClientV2(api_key="none", base_url=url)
    types = ["float", "binary"]
    reply = client.embed(model=model, texts=["a", "b"], input_type="search_query", embedding_types=types)
    lengths = [len(vector) for vector in reply.embeddings.float_ + reply.embeddings.binary]
    assert lengths[0] == lengths[1] == 8 * lengths[2] == 8 * lengths[3]
