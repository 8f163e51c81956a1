-- Adult: one row is one person.
ALTER TABLE adult SET PRIVACY KEY ROW;

-- What all answers together, to everybody, for ever, may tell about one person of this table.
ALTER TABLE adult SET PRIVACY CEILING EPSILON 20;

-- Domains are the owner's public knowledge about a column (its codebook, common sense), never read off the data.
-- Values outside are clamped. A column without a domain is hidden: here fnlwgt, a sampling weight nobody needs.
ALTER TABLE adult ALTER COLUMN age            SET PRIVACY DOMAIN BETWEEN 17 AND 90;
ALTER TABLE adult ALTER COLUMN hours_per_week SET PRIVACY DOMAIN BETWEEN 1 AND 99;
ALTER TABLE adult ALTER COLUMN education_num  SET PRIVACY DOMAIN BETWEEN 1 AND 16;
ALTER TABLE adult ALTER COLUMN capital_gain   SET PRIVACY DOMAIN BETWEEN 0 AND 99999;
ALTER TABLE adult ALTER COLUMN capital_loss   SET PRIVACY DOMAIN BETWEEN 0 AND 4356;

-- A list of values makes a column a key for GROUP BY: every listed value is answered, also the one nobody has.
ALTER TABLE adult ALTER COLUMN sex    SET PRIVACY DOMAIN IN ('Female', 'Male');
ALTER TABLE adult ALTER COLUMN income SET PRIVACY DOMAIN IN ('<=50K', '>50K');
ALTER TABLE adult ALTER COLUMN race   SET PRIVACY DOMAIN IN
  ('White', 'Black', 'Asian-Pac-Islander', 'Amer-Indian-Eskimo', 'Other');
ALTER TABLE adult ALTER COLUMN workclass SET PRIVACY DOMAIN IN
  ('Private', 'Self-emp-not-inc', 'Self-emp-inc', 'Federal-gov', 'Local-gov', 'State-gov', 'Without-pay',
   'Never-worked');
ALTER TABLE adult ALTER COLUMN education SET PRIVACY DOMAIN IN
  ('Preschool', '1st-4th', '5th-6th', '7th-8th', '9th', '10th', '11th', '12th', 'HS-grad', 'Some-college',
   'Assoc-voc', 'Assoc-acdm', 'Bachelors', 'Masters', 'Prof-school', 'Doctorate');
ALTER TABLE adult ALTER COLUMN marital_status SET PRIVACY DOMAIN IN
  ('Never-married', 'Married-civ-spouse', 'Married-AF-spouse', 'Married-spouse-absent', 'Separated', 'Divorced',
   'Widowed');
ALTER TABLE adult ALTER COLUMN relationship SET PRIVACY DOMAIN IN
  ('Husband', 'Wife', 'Own-child', 'Other-relative', 'Not-in-family', 'Unmarried');
ALTER TABLE adult ALTER COLUMN occupation SET PRIVACY DOMAIN IN
  ('Adm-clerical', 'Armed-Forces', 'Craft-repair', 'Exec-managerial', 'Farming-fishing', 'Handlers-cleaners',
   'Machine-op-inspct', 'Other-service', 'Priv-house-serv', 'Prof-specialty', 'Protective-serv', 'Sales',
   'Tech-support', 'Transport-moving');
ALTER TABLE adult ALTER COLUMN native_country SET PRIVACY DOMAIN IN
  ('Cambodia', 'Canada', 'China', 'Columbia', 'Cuba', 'Dominican-Republic', 'Ecuador', 'El-Salvador', 'England',
   'France', 'Germany', 'Greece', 'Guatemala', 'Haiti', 'Holand-Netherlands', 'Honduras', 'Hong', 'Hungary',
   'India', 'Iran', 'Ireland', 'Italy', 'Jamaica', 'Japan', 'Laos', 'Mexico', 'Nicaragua',
   'Outlying-US(Guam-USVI-etc)', 'Peru', 'Philippines', 'Poland', 'Portugal', 'Puerto-Rico', 'Scotland', 'South',
   'Taiwan', 'Thailand', 'Trinadad&Tobago', 'United-States', 'Vietnam', 'Yugoslavia');

-- A public hint for predicted errors; no answer's noise depends on it.
ALTER TABLE adult SET PRIVACY EXPECTED ROWS 30000;
