-- Run once, by the image, on an empty volume. What the service can be made to do is bounded by its role: it owns its
-- database and nothing else. The superuser has no password afterwards: it gets in by the container's own socket only.
\getenv password POSTGRES_PASSWORD
CREATE ROLE service LOGIN PASSWORD :'password';
CREATE DATABASE service OWNER service;
ALTER ROLE postgres PASSWORD NULL;
