FROM node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No script of a package runs: argon2 comes compiled, and the Node.js of the package `node` is that of the image.
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force && rm -r node_modules/node

FROM node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
# The commit and where it can be read: docker build --build-arg REVISION=... --build-arg SOURCE=...
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Route Planning Service" \
      org.opencontainers.image.description="Stores, serves and shares planned routes over HTTP" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.base.name="node:24.21.0-bookworm-slim" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production
ENV SOURCE_COMMIT="$REVISION"
WORKDIR /app
# All of it belongs to root: the service writes uploads to its temporary directory and nothing else, so all but /tmp may
# be read-only.
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json node.sh ./
COPY migrations ./migrations
COPY src ./src
# Compiled modules, for that user only: a start takes half the processor time. Without settings it ends when they are loaded. The
# two options of V8 make each build write the same bytes.
ENV NODE_COMPILE_CACHE=/app/.cache
RUN mkdir .cache && chown 1000:1000 .cache
USER 1000:1000
RUN ./node.sh --predictable --random-seed=1 src/main.ts > /dev/null || test -n "$(ls .cache)"
USER 0:0
RUN chown -R 0:0 .cache && chmod -R go=rX .cache
# `node`, by its number: Kubernetes cannot tell from a name that it is not root.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=15s --timeout=3s --start-period=60s \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.PORT ?? 3000}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# The script becomes Node, which gets SIGTERM itself.
CMD ["./node.sh", "src/main.ts"]
