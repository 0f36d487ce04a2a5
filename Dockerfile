# The server alone: no build step, no development dependencies, no npm, no shell scripts.
# It has one Node.js, the one that package-lock.json names and the tests run on.
# It runs as a user that is not root and writes to /data only, so the rest may be read-only.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY server/package.json server/
COPY server/bin server/bin
COPY sdk/package.json sdk/
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# Headers and manuals of Node.js.
RUN rm -r node_modules/node-linux-*/include node_modules/node-linux-*/share
COPY server/src server/src
COPY sdk/src sdk/src
COPY docs docs
RUN mkdir /data

FROM debian:bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATABASE_URL=sqlite:/data/namjai.db
ENV PATH=/app/node_modules/.bin:/usr/local/bin:/usr/bin:/bin
WORKDIR /app
COPY --from=build /app /app
COPY --from=build --chown=10001:10001 /data /data
USER 10001:10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--disable-warning=ExperimentalWarning", "server/bin/namjai.js", "serve"]
