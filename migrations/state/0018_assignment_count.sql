-- How often a blueprint was assigned to the device since it was made; NULL: never. A module that was away tells by it that
-- its script is to begin anew, also with the blueprint that it had.
ALTER TABLE device ADD COLUMN assignment_count INTEGER;
