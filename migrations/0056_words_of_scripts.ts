import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
  EXECUTE replace(replace($function$
    CREATE OR REPLACE FUNCTION search_words(content text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    DECLARE
      words text;
    BEGIN
      IF octet_length(content) = char_length(content) THEN
        words := regexp_replace(lower(content COLLATE "C"), '[^a-z0-9]+', ' ', 'g');
      ELSE
        words := lower(regexp_replace(normalize(content, NFKD), '[\\u0300-\\u036f\\u0591-\\u05bd\\u064b-\\u065f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u200d\\u20d0-\\u20ff\\u093c\\u094d\\u09bc\\u09cd\\u0a3c\\u0a4d\\u0abc\\u0acd\\u0b3c\\u0b4d\\u0bcd\\u0c3c\\u0c4d\\u0cbc\\u0ccd\\u0d4d\\u0dca\\u0e3a\\u0e47-\\u0e4e\\u0eba\\u0ec8-\\u0ece\\u0f39\\u0f84\\u1037\\u1039\\u103a\\u17c9-\\u17d3\\u3099\\u309a\\ufe00-\\ufe0f\\ufe20-\\ufe2f]+', '', 'g') COLLATE LOWER);
        words := replace(replace(replace(replace(words, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
        words := translate(words, 'øłđðħŧıςDIGITS', 'olddhtiσ' || repeat('0123456789', 16));
        words := regexp_replace(words, '([\\u3041-\\u3096\\u30a1-\\u30fa\\u3400-\\u4dbf\\u4e00-\\u9fff\\U00020000-\\U0003ffff\\u2300-\\u23ff\\u25a0-\\u27bf\\u2b00-\\u2bff\\U0001f000-\\U0001faff])', ' \\1 ', 'g');
        words := regexp_replace(words COLLATE LOWER, '[^[:alnum:]\\u2300-\\u23ff\\u25a0-\\u27bf\\u2b00-\\u2bff\\U0001f000-\\U0001faff]+', ' ', 'g');
      END IF;
      IF char_length(words) > 64 THEN
        words := regexp_replace(words, '(\\S{64})\\S+', '\\1', 'g');
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
CREATE OR REPLACE FUNCTION route_lexemes(owner bigint, name text, description text, tags text[], waypoints text,
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
`

/** New words count from here on, those of routes that have some are written by the next migration. */
export default SqlClient.SqlClient.use((sql) =>
  // The driver sends one statement at a time.
  Effect.asVoid(sql.unsafe(`DO $step$ BEGIN ${STEP} END $step$`))
)
