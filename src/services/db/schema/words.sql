-- The words of routes, by which `q` finds them: kept by triggers, so that no writer forgets them.

-- Makes the words of texts and of queries by one rule, with a space between two: without case and accents, of 64 characters
-- at most, each character of a script without spaces a word. No word has a character that means something in a tsvector or
-- a tsquery. PostgreSQL's parser would take "lake-side" and "3.5" apart otherwise than a prefix of them, and an extension is
-- not every role's to create. Text in ASCII takes a third of the time. A text may become 18 times as long by NFKD, and each
-- step after that takes time for all of it: its first 40,000 characters count.
--
-- In a database of the C locale `lower` knows ASCII only: LOWER stands for PostgreSQL's own collation, which it has since 17,
-- and before that for the one of ICU. The first knows the digits of ASCII only, so those of other scripts, for which DIGITS
-- stands, become these.
DO $do$ BEGIN
  EXECUTE replace(replace($function$
    CREATE FUNCTION search_words(content text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    DECLARE
      words text;
    BEGIN
      IF octet_length(content) = char_length(content) THEN
        words := regexp_replace(lower(content COLLATE "C"), '[^a-z0-9]+', ' ', 'g');
      ELSE
        words := lower(regexp_replace(left(normalize(content, NFKD), 40000), '[\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u200d\u20d0-\u20ff\u093c\u094d\u09bc\u09cd\u0a3c\u0a4d\u0abc\u0acd\u0b3c\u0b4d\u0bcd\u0c3c\u0c4d\u0cbc\u0ccd\u0d4d\u0dca\u0e3a\u0e47-\u0e4e\u0eba\u0ec8-\u0ece\u0f39\u0f84\u1037\u1039\u103a\u17c9-\u17d3\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f]+', '', 'g') COLLATE LOWER);
        words := replace(replace(replace(replace(words, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
        words := translate(words, 'øłđðħŧıςDIGITS', 'olddhtiσ' || repeat('0123456789', 16));
        words := regexp_replace(words, '([\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff])', ' \1 ', 'g');
        words := regexp_replace(words COLLATE LOWER, '[^[:alnum:]\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]+', ' ', 'g');
      END IF;
      IF char_length(words) > 64 THEN
        words := regexp_replace(words, '(\S{64})\S+', '\1', 'g');
      END IF;
      RETURN btrim(words);
    END $$
  $function$, 'COLLATE LOWER', (
    SELECT format('COLLATE pg_catalog."%s"', coalesce(min(collname), 'default')) FROM pg_collation
    WHERE collname IN ('pg_c_utf8', 'und-x-icu') AND collnamespace = 'pg_catalog'::regnamespace
      AND collencoding IN (-1, pg_char_to_encoding('UTF8'))
  )), 'DIGITS', (
    SELECT string_agg(chr(zero + digit), '' ORDER BY zero, digit) FROM generate_series(0, 9) AS digit, unnest(ARRAY[
      1632, 1776, 2406, 2534, 2662, 2790, 2918, 3046, 3174, 3302, 3430, 3664, 3792, 3872, 4160, 6112
    ]) AS zero
  ));
END $do$;

-- Makes a query for rows that have words which begin with each, or with any, of the words of a text. A lexeme begins with its
-- scope, "42/" for the routes of an account and "/" for public ones: a prefix that a million routes have is looked up among
-- those of one account only.
CREATE FUNCTION search_query(scope text, content text, operator text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
  SELECT coalesce(string_agg('''' || scope || word || ''':*', operator), '')::tsquery
  FROM (SELECT DISTINCT word FROM string_to_table(search_words(content), ' ') AS word WHERE word <> '') AS words
);

-- Makes the words of a view, which has no scope.
CREATE FUNCTION search_vector(content text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(array_remove(string_to_array(search_words(content), ' '), ''));

-- Returns the first 20,000 characters of the names of waypoints. Text that is no JSON is that of a row which no list shows.
CREATE FUNCTION waypoint_names(waypoints text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
  RETURN (
    SELECT left(string_agg(waypoint ->> 'name', ' '), 20000)
    FROM json_array_elements(waypoints::json) AS waypoint
  );
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END $$;

-- Makes the words of a route, for its owner and, while it is public, for anyone. All are at position 1, which carries the
-- weight of the text: a name counts more than a description. Each character of a script without spaces is a word, so that words
-- take up to twice the characters: the first 40,000 count, so that no tsvector is too long.
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
    words := left(search_words(texts[n]), 40000);
    CONTINUE WHEN coalesce(words, '') = '';
    lexemes := lexemes || ' ' || owner || '/' || replace(words, ' ', weights[n] || ' ' || owner || '/') || weights[n];
    IF visibility = 'public' AND deleted_at IS NULL THEN
      lexemes := lexemes || ' /' || replace(words, ' ', weights[n] || ' /') || weights[n];
    END IF;
  END LOOP;
  RETURN lexemes::tsvector;
END $$;

-- A table of its own: a column would rewrite each route, and each of its indexes, when the rule of words changes.
CREATE TABLE route_words (
  route_id bigint PRIMARY KEY REFERENCES routes ON DELETE CASCADE,
  words tsvector NOT NULL
);
-- A search reads all that is not in the index yet, so that is little.
CREATE INDEX route_words_idx ON route_words USING gin (words) WITH (gin_pending_list_limit = 256);

-- Gives each new route its words.
CREATE FUNCTION add_route_words() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO route_words (route_id, words)
  SELECT id, route_lexemes(user_id, name, description, tags, waypoints, place_city, place_region, visibility, deleted_at)
  FROM added;
  RETURN NULL;
END $$;
CREATE TRIGGER words_on_insert AFTER INSERT ON routes REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION add_route_words();

-- Writes the words of a route again when a column that they come from has another value: a column that becomes searchable is
-- added to the function above and to three places below. A trigger of some columns has no transition tables, so a change is
-- a row's.
CREATE FUNCTION change_route_words() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO route_words (route_id, words)
  VALUES (NEW.id, route_lexemes(NEW.user_id, NEW.name, NEW.description, NEW.tags, NEW.waypoints, NEW.place_city,
    NEW.place_region, NEW.visibility, NEW.deleted_at))
  ON CONFLICT (route_id) DO UPDATE SET words = excluded.words;
  RETURN NULL;
END $$;
CREATE TRIGGER words_on_update
  AFTER UPDATE OF user_id, name, description, tags, waypoints, place_city, place_region, visibility, deleted_at ON routes
  FOR EACH ROW WHEN (
    (OLD.user_id, OLD.name, OLD.description, OLD.tags, OLD.waypoints, OLD.place_city, OLD.place_region, OLD.visibility,
      OLD.deleted_at)
    IS DISTINCT FROM
    (NEW.user_id, NEW.name, NEW.description, NEW.tags, NEW.waypoints, NEW.place_city, NEW.place_region, NEW.visibility,
      NEW.deleted_at)
  ) EXECUTE FUNCTION change_route_words();
