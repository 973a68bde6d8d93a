"""Any table: read, encoded, projected, split over owners, and its neighbours."""
