import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Accents and other marks that words are compared without, once NFKD has split them off their letters. */
const MARKS =
  "\\u0300-\\u036f\\u0591-\\u05bd\\u064b-\\u065f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u200d\\u20d0-\\u20ff\\u3099\\u309a"
  + "\\ufe00-\\ufe0f\\ufe20-\\ufe2f"

/** Scripts that are written without spaces: each character is a word. */
const UNSPACED = "\\u3041-\\u3096\\u30a1-\\u30fa\\u3400-\\u4dbf\\u4e00-\\u9fff\\U00020000-\\U0003ffff"

const SYMBOLS = "\\u2600-\\u27bf\\U0001f000-\\U0001faff"

/** Of a word, in characters: an index has no room for those of any length. */
const WORD = 64

/** Of the names of a route's waypoints together. */
const WAYPOINT_CHARACTERS = 20_000

/** In the order of the parameters of `route_lexemes`. */
const WORD_COLUMNS = [
  "user_id",
  "name",
  "description",
  "tags",
  "waypoints",
  "place_city",
  "place_region",
  "visibility",
  "deleted_at"
]

const columnsOf = (row: string) => WORD_COLUMNS.map((column) => `${row}.${column}`).join(", ")

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // In a database of the C locale `lower` knows ASCII only. PostgreSQL has a collation of its own since 17, before that
  // one of ICU where it is built with it.
  const [collation] = yield* sql<{ name: string }>`
    SELECT collname AS name FROM pg_collation
    WHERE collname IN ('pg_c_utf8', 'und-x-icu') AND collnamespace = 'pg_catalog'::regnamespace
      AND collencoding IN (-1, pg_char_to_encoding('UTF8'))
    ORDER BY collname LIMIT 1`
  const collate = sql.literal(`COLLATE pg_catalog."${collation?.name ?? "default"}"`)

  // The words of texts and of queries with a space between two, by one rule and without the parser of PostgreSQL, which
  // takes "lake-side" and "3.5" apart otherwise than a prefix of them. No word has a character that means something in a
  // tsvector or a tsquery. No extension: a role may lack the right to create one. Text in ASCII takes a third of the time.
  yield* sql`
    CREATE FUNCTION search_words(content text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    DECLARE
      words text;
    BEGIN
      IF octet_length(content) = char_length(content) THEN
        words := regexp_replace(lower(content COLLATE "C"), '[^a-z0-9]+', ' ', 'g');
      ELSE
        words := lower(regexp_replace(normalize(content, NFKD), ${sql.literal(`'[${MARKS}]+'`)}, '', 'g') ${collate});
        words := replace(replace(replace(replace(words, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
        words := translate(words, 'øłđðħŧıς', 'olddhtiσ');
        words := regexp_replace(words, ${sql.literal(`'([${UNSPACED}${SYMBOLS}])'`)}, ' \\1 ', 'g');
        words := regexp_replace(words ${collate}, ${sql.literal(`'[^[:alnum:]${SYMBOLS}]+'`)}, ' ', 'g');
      END IF;
      IF char_length(words) > ${sql.literal(String(WORD))} THEN
        words := regexp_replace(words, ${sql.literal(`'(\\S{${WORD}})\\S+'`)}, '\\1', 'g');
      END IF;
      RETURN btrim(words);
    END $$`

  // A lexeme begins with its scope, "42/" for the routes of an account and "/" for public ones: so a prefix that a
  // million routes have is looked up among those of one account only.
  yield* sql`
    CREATE FUNCTION search_query(scope text, content text, operator text) RETURNS tsquery LANGUAGE sql IMMUTABLE
    PARALLEL SAFE
    RETURN (
      SELECT coalesce(string_agg('''' || scope || word || ''':*', operator), '')::tsquery
      FROM (SELECT DISTINCT word FROM string_to_table(search_words(content), ' ') AS word WHERE word <> '') AS words
    )`

  // Text that is no JSON is that of a row which no list shows.
  yield* sql`
    CREATE FUNCTION waypoint_names(waypoints text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    BEGIN
      RETURN (
        SELECT left(string_agg(waypoint ->> 'name', ' '), ${sql.literal(String(WAYPOINT_CHARACTERS))})
        FROM json_array_elements(waypoints::json) AS waypoint
      );
    EXCEPTION WHEN data_exception THEN
      RETURN NULL;
    END $$`

  // All at position 1, which carries the weight of the text: a name counts more than a description.
  yield* sql`
    CREATE FUNCTION route_lexemes(owner bigint, name text, description text, tags text[], waypoints text,
      place_city text, place_region text, visibility text, deleted_at timestamptz)
    RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    DECLARE
      texts text[] := ARRAY[name, array_to_string(tags, ' '),
        concat_ws(' ', place_city, place_region,
          CASE WHEN strpos(waypoints, '"name"') > 0 THEN waypoint_names(waypoints) END),
        description];
      weights text[] := '{:1A,:1B,:1C,:1D}';
      words text;
      lexemes text := '';
    BEGIN
      FOR n IN 1..4 LOOP
        words := search_words(texts[n]);
        CONTINUE WHEN coalesce(words, '') = '';
        lexemes := lexemes || ' ' || owner || '/' || replace(words, ' ', weights[n] || ' ' || owner || '/') || weights[n];
        IF visibility = 'public' AND deleted_at IS NULL THEN
          lexemes := lexemes || ' /' || replace(words, ' ', weights[n] || ' /') || weights[n];
        END IF;
      END LOOP;
      RETURN lexemes::tsvector;
    END $$`
  yield* sql`
    CREATE FUNCTION search_vector(content text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_tsvector(array_remove(string_to_array(search_words(content), ' '), ''))`

  // A table of its own: a column would rewrite each route, and each of its indexes, when it is filled.
  yield* sql`
    CREATE TABLE route_words (
      route_id bigint PRIMARY KEY REFERENCES routes ON DELETE CASCADE,
      words tsvector NOT NULL
    )`
  // A search reads all that is not in the index yet, so that is little.
  yield* sql`CREATE INDEX route_words_idx ON route_words USING gin (words) WITH (gin_pending_list_limit = 256)`

  // By the database, so that processes of the version before write them too. A trigger of some columns has no transition
  // tables, so a change is a row's.
  yield* sql`
    CREATE FUNCTION add_route_words() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO route_words (route_id, words) SELECT id, route_lexemes(${
    sql.literal(WORD_COLUMNS.join(", "))
  }) FROM added;
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE TRIGGER words_on_insert AFTER INSERT ON routes REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION add_route_words()`
  yield* sql`
    CREATE FUNCTION change_route_words() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO route_words (route_id, words) VALUES (NEW.id, route_lexemes(${sql.literal(columnsOf("NEW"))}))
      ON CONFLICT (route_id) DO UPDATE SET words = excluded.words;
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE TRIGGER words_on_update AFTER UPDATE OF ${sql.literal(WORD_COLUMNS.join(", "))} ON routes
    FOR EACH ROW WHEN (${sql.literal(`(${columnsOf("OLD")}) IS DISTINCT FROM (${columnsOf("NEW")})`)})
    EXECUTE FUNCTION change_route_words()`

  // Routes of before get their words beside the requests, account by account, from behind this one; their writers are
  // waited for above. No row: all have them.
  yield* sql`
    CREATE TABLE route_words_due (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      user_id bigint NOT NULL DEFAULT 0,
      route_id bigint NOT NULL DEFAULT 0
    )`
  yield* sql`INSERT INTO route_words_due DEFAULT VALUES`
})
