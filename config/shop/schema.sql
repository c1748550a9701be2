-- The tables of the shop. The rows of products are in products.csv; it is read after this file.
CREATE TABLE products (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  brand TEXT,
  price REAL NOT NULL CHECK (price >= 0),
  stock INTEGER NOT NULL DEFAULT 0,
  sale BOOLEAN NOT NULL DEFAULT 0,
  details JSON
);
CREATE INDEX products_by_brand ON products (brand);

CREATE TABLE reviews (
  id INTEGER PRIMARY KEY,
  product INTEGER NOT NULL REFERENCES products (id) ON DELETE CASCADE,
  stars INTEGER NOT NULL CHECK (stars BETWEEN 1 AND 5),
  text TEXT
);
CREATE INDEX reviews_by_product ON reviews (product);

CREATE VIEW cheap AS SELECT id, name, price FROM products WHERE price < 10;
