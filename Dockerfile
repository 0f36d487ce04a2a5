# The server alone: no build step, no development dependencies, not root.
FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
WORKDIR /app
COPY package.json package-lock.json ./
COPY server/package.json server/
COPY sdk/package.json sdk/
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force
COPY server/bin server/bin
COPY server/src server/src
COPY sdk/src sdk/src
COPY docs docs
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--disable-warning=ExperimentalWarning", "server/bin/namjai.js", "serve"]
